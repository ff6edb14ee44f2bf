"""Layer 4: from a program to C++ text, one text for both targets; pure."""

"""Layer 3: from graph to steps; pure."""

// What it declares is always there.

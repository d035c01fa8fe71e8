"""Ways out to other systems, and later in from them."""

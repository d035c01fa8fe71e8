"""What tests of several rings share: builders, clocks, waits, real servers."""

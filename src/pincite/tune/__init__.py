"""Settings chosen on one's own questions, with figures that hold on questions not seen."""

"""What the benchmarks of ops on a GPU share: times, floors, inputs, and peers."""

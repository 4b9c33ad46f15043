"""Task, project and global memory: three views of the one store, and light backends."""

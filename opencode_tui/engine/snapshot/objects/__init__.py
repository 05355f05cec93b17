"""The object store: blobs, trees, packs, manifests, and differences between two snapshots."""

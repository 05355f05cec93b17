"""The objects of a snapshot store: blobs, trees, packs, manifests, and what differs between two snapshots."""

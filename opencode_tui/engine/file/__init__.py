"""The files of the folder that is worked in, for people and faces: find, browse, read. The tools have their own way to them."""

"""Files of an exported folder: header, build files, programs, manifest and sheet."""

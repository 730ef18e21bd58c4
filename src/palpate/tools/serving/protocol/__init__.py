"""The network protocol: message layouts and sockets."""

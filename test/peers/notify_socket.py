"""Systemd's part for a service: a datagram socket that receives messages of sd_notify(3). Prints each as a line of JSON.

usage: notify_socket.py PATH
"""
import array, json, os, socket, sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print(json.dumps("listening"), flush=True)
while True:
    message, ancillary, _, _ = listener.recvmsg(4096, socket.CMSG_SPACE(4))
    # The sender of a descriptor waits until it is closed.
    for _, kind, data in ancillary:
        for descriptor in array.array("i", data) if kind == socket.SCM_RIGHTS else []:
            os.close(descriptor)
    print(json.dumps(message.decode()), flush=True)

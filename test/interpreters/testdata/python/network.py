# There is no network, but for the loopback.
import errno, socket, threading

try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as e:
    print(errno.errorcode[e.errno])
try:
    socket.getaddrinfo("example.com", 80)
except socket.gaierror as e:
    print("no names")
s = socket.create_server(("127.0.0.1", 0))
t = threading.Thread(target=lambda: s.accept()[0].sendall(b"hello")); t.start()
c = socket.create_connection(s.getsockname()); print(c.recv(10)); t.join()
print(socket.gethostname(), socket.getdefaulttimeout())

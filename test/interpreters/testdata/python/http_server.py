# A server and a client in one program.
import http.server, threading, urllib.request, urllib.error

class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ok" else 404); self.end_headers(); self.wfile.write(b"body of " + self.path.encode())
    def log_message(self, *a): print("log", a[0] % a[1:])
s = http.server.HTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
u = f"http://127.0.0.1:{s.server_port}"
print(urllib.request.urlopen(u + "/ok").read())
try:
    urllib.request.urlopen(u + "/no")
except urllib.error.HTTPError as e:
    print(e.code, e.read())
s.shutdown()

# ends: exit 1
# A thread goes on after an error has ended the main one.
import threading
def late():
    threading.main_thread().join()
    print("late", threading.main_thread().is_alive())
threading.Thread(target=late).start()
raise RuntimeError("main")

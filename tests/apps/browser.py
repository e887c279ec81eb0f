"""A browser without a window, driven by the W3C WebDriver protocol through chromedriver, with Python's own library."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name of a reference to an element


def missing():
    """Why there is no browser here; None if there is one."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"no {program} is installed"
    return None


class Browser:
    """`with Browser(390, 844, dark=True, phone=True) as page: page.open(path)`; a phone is touched."""

    def __init__(self, width, height, dark=False, phone=False):
        self.phone = phone
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_until_ready()
            arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                         "--disable-dev-shm-usage"]
            if os.geteuid() == 0:
                arguments.append("--no-sandbox")  # which does not work for root
            if dark:
                arguments.append("--blink-settings=preferredColorScheme=0")
            screen = {"width": width, "height": height, "pixelRatio": 1, "mobile": phone, "touch": phone}
            options = {"args": arguments, "mobileEmulation": {"deviceMetrics": screen}}
            asked = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}}
            self.session = "/session/" + self.call("POST", "/session", asked)["sessionId"]
            # Some errors, of observers for one, are in no console that a driver sees.
            noting = "window.problems = []; addEventListener('error', (event) => problems.push(event.message));"
            self.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": noting})
            self.devtools("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        finally:
            self.stop()

    def stop(self):
        self.driver.kill()
        self.driver.wait()

    def wait_until_ready(self):
        for _ in range(200):
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer within 10 s")

    def call(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{method} {path}: {e.read().decode(errors='replace')[:1000]}") from None

    def devtools(self, command, parameters):
        self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path):
        self.call("POST", self.session + "/url", {"url": f"file://{os.path.abspath(path)}"})

    def run(self, script, *arguments):
        """Returns the result of the function body `script`."""
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        found = self.call("POST", self.session + "/elements", {"using": "css selector", "value": selector})
        return [one[ELEMENT] for one in found]

    def click(self, element):
        self.call("POST", f"{self.session}/element/{element}/click")

    def keys(self, element, text):
        self.call("POST", f"{self.session}/element/{element}/value", {"text": text})

    def point_at(self, element, x, y):
        """Moves the mouse to (x, y) from the middle of the element, or touches it there."""
        actions = [{"type": "pointerMove", "duration": 50, "x": x, "y": y, "origin": {ELEMENT: element}}]
        if self.phone:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pause", "duration": 50}, {"type": "pointerUp", "button": 0}]
        kind = "touch" if self.phone else "mouse"
        self.call("POST", self.session + "/actions",
                  {"actions": [{"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": actions}]})

    def console(self):
        """Warnings and errors since the last call, those of scripts since the page was opened."""
        entries = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")] + self.run("return window.problems;")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

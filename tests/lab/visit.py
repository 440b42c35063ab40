"""A person in the lab, in a real browser."""

import io
import shutil
from typing import Any

import numpy as np
from PIL import Image

from whygpu.lab.options import Address

CHROMIUM = shutil.which("chromium")
KEY = "key-of-these-tests"
VIEWS = ("draw", "think", "same", "race", "exhibits", "verify", "predict", "history", "claims")


class Visit:
    """One person in the lab: what their browser requested, what its console said."""

    def __init__(
        self, browser: Any, live: Address, width: int = 1280, view: str = "draw", **how: Any
    ) -> None:
        self.elsewhere: list[str] = []
        self.console: list[str] = []
        self.base = f"{live.url}/"
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **how)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.goto(f"{self.base}#key={KEY}&lang=en")
        self.page.wait_for_selector("body[data-ready]")
        self.go(view)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.base, self.base.replace("http", "ws"), "data:", "blob:")):
            self.elsewhere.append(url)

    def go(self, view: str) -> None:
        self.page.evaluate(f"location.hash = '#/{view}'")
        self.page.wait_for_selector(f"section.view.{view}")

    def picture(self) -> Any:
        """What the canvas shows, (height, width, 3)."""
        data = self.page.locator(".easel canvas").screenshot()
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def frames(self) -> int:
        return int(self.page.locator(".easel canvas").get_attribute("data-frames") or 0)

    def wait_for_frame(self, before: int) -> None:
        for _ in range(400):
            if self.frames() > before:
                return
            self.page.wait_for_timeout(25)
        raise AssertionError("no new frame came")

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

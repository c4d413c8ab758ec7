"""Displays what matplotlib and PIL would show on a screen, and IPython in a notebook. Imports none
of them: only the code does."""

from __future__ import annotations

import functools
import importlib
import io
import os
import sys
from typing import Any, Callable, Optional

from brig._after_import import after_import, attempt
from brig._left_files import (
    IMAGE_HEAD,
    LARGEST_SHOWN,
    MOST_SIDE,
    Mark,
    comes_back,
    image_size,
    image_type,
    is_large,
    mark_of,
)

_NO_SCREEN = "agg"
_MOST_SAVED, _MOST_SAVED_BYTES = 8, 2 << 20  # well below what run_python gives back of a workspace
_MOST_PIXELS = 64_000_000  # of an image that is made smaller: they take memory of the cell's


def use_agg() -> None:
    """Chooses the backend without a screen for this process and those that it starts, unless
    another one was chosen."""
    os.environ.setdefault("MPLBACKEND", _NO_SCREEN)
    matplotlib: Any = sys.modules.get("matplotlib")
    if matplotlib is None:
        return
    try:  # it was imported before, and has read the environment already
        chosen = dict.__getitem__(matplotlib.rcParams, "backend")
        if not isinstance(chosen, str):
            matplotlib.use(_NO_SCREEN)
    except Exception:
        pass  # matplotlib is in the middle of its import, or this is another module of that name


def is_figure(value: Any) -> bool:
    return any(
        each.__name__ == "Figure" and each.__module__ == "matplotlib.figure"
        for each in type(value).__mro__
    )


def png_of(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def open_figures() -> list[Any]:
    """Returns pyplot's figures, in the order of their numbers."""
    helpers: Any = sys.modules.get("matplotlib._pylab_helpers")
    try:
        return [
            each.canvas.figure for each in helpers.Gcf.get_all_fig_managers()
        ] if helpers else []
    except Exception:
        return []


def close_figures() -> None:
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


class SavedFigures:
    """Knows the figures that the code has saved as images in its workspace, and not changed since:
    such an image comes back as a file. A figure is changed when matplotlib calls it stale."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        # By the figure's id; holds the figure, so that no other gets that id.
        self._files: dict[int, tuple[Any, str, Mark]] = {}
        self._count = self._bytes = 0
        self.drawn: set[str] = set()  # the files of figures that are displayed

    def watch(self, module: Any) -> None:
        plain = module.Figure.savefig

        @functools.wraps(plain)
        def savefig(figure: Any, fname: Any, *arguments: Any, **options: Any) -> Any:
            before = self._files.get(id(figure))
            result = plain(figure, fname, *arguments, **options)
            attempt(
                lambda figure: self._note(
                    figure, self._file_of(figure, fname, **options) or before
                ),
                figure,
            )
            return result

        module.Figure.savefig = savefig

    def comes_back(self, figure: Any) -> bool:
        """Returns whether the figure comes back as a file that a model is shown: one that is not
        too large. Counts those that do: only so many files come back."""
        _, path, mark = self._files.get(id(figure), (None, "", (0, 0)))
        try:
            if not path or mark_of(path) != mark:
                return False
            with open(path, "rb") as file:
                if is_large(mark[1], image_size(file.read(IMAGE_HEAD))):
                    return False
        except OSError:
            return False
        self._count, self._bytes = self._count + 1, self._bytes + mark[1]
        return self._count <= _MOST_SAVED and self._bytes <= _MOST_SAVED_BYTES

    def is_drawn(self, figure: Any) -> None:
        """Tells that the figure is displayed, if it is one that was saved. Any value may be
        given."""
        if id(figure) in self._files:
            self.drawn.add(self._files[id(figure)][1])

    def _note(self, figure: Any, file: Optional[tuple[Any, str, Mark]]) -> None:
        if file is None:
            return
        self._files[id(figure)] = file
        then = figure.stale_callback
        if getattr(then, "__self__", None) is self:
            return

        def on_change(artist: Any, value: bool) -> None:
            # Drawing sets it stale, too, but changes nothing.
            if not getattr(figure.canvas, "_is_idle_drawing", False):
                self._files.pop(id(figure), None)
            if then:
                then(artist, value)

        on_change.__self__ = self  # type: ignore[attr-defined]
        figure.stale_callback = on_change

    def _file_of(self, figure: Any, name: Any, *, format: Any = None, **_: Any) -> Optional[
        tuple[Any, str, Mark]
    ]:
        """Returns the saved file, or None if it is not an image or does not come back."""
        if not self._workspace or not isinstance(name, (str, os.PathLike)):
            return None
        path = os.path.realpath(os.fspath(name))
        if format is None and not os.path.splitext(path)[1]:
            path = f"{path.rstrip('.')}.{figure.canvas.get_default_filetype()}"
        with open(path, "rb") as file:
            if image_type(file.read(16)) is None:
                return None
        return (figure, path, mark_of(path)) if comes_back(self._workspace, path) else None


def show_on(
    show_figures: Callable[[], None], display: Callable[..., None], saved: SavedFigures
) -> None:
    """Lets plt.show(), Image.show() and IPython's display() call these functions as soon as their
    modules are imported, and `saved` watch savefig()."""

    def pyplot(module: Any) -> None:
        def show(*_: Any, **__: Any) -> None:
            """Displays the open figures, and closes them."""
            show_figures()

        module.show = show

    def image_show(module: Any) -> None:
        class Viewer(module.Viewer):  # type: ignore[misc]
            def show(self, image: Any, **_: Any) -> int:
                display(image)
                return 1

        module.register(Viewer(), 0)

    def ipython(module: Any) -> None:
        """Without IPython's own shell, its functions would print the values, or make that shell."""

        def publish_display_data(data: Any, *_: Any, **__: Any) -> None:
            display(data, raw=True)

        own = {"display": display, "publish_display_data": publish_display_data}
        # The second one if it was imported before.
        for each in filter(None, (module, sys.modules.get("IPython.display"))):
            for name in own.keys() & vars(each).keys():
                setattr(each, name, own[name])

    after_import(
        {
            "matplotlib.pyplot": pyplot,
            "matplotlib.figure": saved.watch,
            "PIL.ImageShow": image_show,
            "IPython.core.display_functions": ipython,
            "IPython.core.display": ipython,  # where versions before 7.23 have them
        }
    )


def scaled(data: bytes, mime_type: str, most_pixels: int = _MOST_PIXELS) -> Optional[bytes]:
    """Returns the image with fewer pixels, so that a model is shown it, or None if it can't be
    scaled here. `most_pixels`: of the image as it is."""
    try:
        Image = importlib.import_module("PIL.Image")
        image = Image.open(io.BytesIO(data))
        if image.size[0] * image.size[1] > most_pixels:
            return None
        image.load()
        kind = "JPEG" if mime_type == "image/jpeg" else "PNG"
        size, taken = image.size, len(data)
        for _ in range(6):
            share = min(0.9, 0.9 * (LARGEST_SHOWN / taken) ** 0.5, MOST_SIDE / max(size))
            size = (max(1, int(size[0] * share)), max(1, int(size[1] * share)))
            file = io.BytesIO()
            image.resize(size, Image.LANCZOS).save(file, kind)
            taken = file.tell()
            if not is_large(taken, size):
                return file.getvalue()
    except Exception:
        pass  # there is no PIL, the data is no image, or the image is too large for PIL
    return None

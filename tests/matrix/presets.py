"""Presets, each by a build of a small project in a cell.

`host` is run first, outside, in a HOME of its own ($HOME), and leaves there what its toolchain
leaves; `script` is run in a cell with the preset, which may read $HOME/src too; `output` is all
that it prints. Without the preset it must fail.

With NAME:shared nothing of the host's cache is there: `fill` before the script puts into the shared
one what it needs, and the script alone, which fails before, works after that. `shared` is another
script for this, if `script` needs no cache. """

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PresetCase:
    name: str
    debian: str
    what: str  # in docs/compatibility.md
    host: str
    script: str
    output: str
    options: list[str] = field(default_factory=list)
    fill: str = ""
    shared: str = ""


PRESETS = [
    PresetCase("node", "nodejs, npm", "`npm ci` out of the host's cache", """
mkdir greet app
cat > greet/package.json <<'END'
{"name": "greet", "version": "1.0.0", "main": "index.js"}
END
echo 'module.exports = who => `hello ${who}`' > greet/index.js
npm pack --silent ./greet >/dev/null
npm cache add ./greet-1.0.0.tgz
integrity=$(openssl dgst -sha512 -binary greet-1.0.0.tgz | base64 -w0)
cat > app/package.json <<'END'
{"name": "app", "version": "1.0.0", "dependencies": {"greet": "1.0.0"}}
END
cat > app/package-lock.json <<END
{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "app", "version": "1.0.0", "dependencies": {"greet": "1.0.0"}},
  "node_modules/greet": {"version": "1.0.0", "resolved": "https://registry.invalid/greet-1.0.0.tgz",
                         "integrity": "sha512-$integrity"}}}
END
""", """
cp -r "$SRC"/app .
cd app
npm ci --silent
node -p 'require("greet")("cache")'
""", "hello cache", ["--timeout", "120s"], fill='npm cache add "$SRC"/greet-1.0.0.tgz'),
    PresetCase("python", "python3-venv, python3-pip", "a virtual environment of pyenv's Python, and a wheel of the project's by pip", """
/usr/bin/python3 -m venv "$HOME"/.pyenv/versions/own
mkdir wheels sources
python3 - <<'END'
import zipfile
with zipfile.ZipFile("wheels/greet-1.0.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greet.py", "def hello(who):\\n    return f'hello {who}'\\n")
    wheel.writestr("greet-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0.0\\n")
    wheel.writestr("greet-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greet-1.0.0.dist-info/RECORD", "greet.py,,\\ngreet-1.0.0.dist-info/METADATA,,\\ngreet-1.0.0.dist-info/WHEEL,,\\ngreet-1.0.0.dist-info/RECORD,,\\n")
END
mkdir other-1.0.0
cat > other-1.0.0/pyproject.toml <<'END'
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
END
printf 'Metadata-Version: 2.1\\nName: other\\nVersion: 1.0.0\\n' > other-1.0.0/PKG-INFO
cat > other-1.0.0/backend.py <<'END'
import os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    assert "MAY_BUILD" in os.environ, "this time it must come out of the cache"
    with zipfile.ZipFile(os.path.join(directory, "other-1.0.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("other.py", "word = 'built once'\\n")
        wheel.write("PKG-INFO", "other-1.0.0.dist-info/METADATA")
        wheel.writestr("other-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("other-1.0.0.dist-info/RECORD", "other.py,,\\nother-1.0.0.dist-info/METADATA,,\\nother-1.0.0.dist-info/WHEEL,,\\nother-1.0.0.dist-info/RECORD,,\\n")
    return "other-1.0.0-py3-none-any.whl"
END
tar -czf sources/other-1.0.0.tar.gz other-1.0.0
""", """
"$HOME"/.pyenv/versions/own/bin/python -m venv env
env/bin/pip install --quiet --find-links "$SRC"/wheels greet
env/bin/python -c 'import greet; print(greet.hello("venv"))'
""", "hello venv", ["--timeout", "120s", "--scratch", "256M"], fill="export MAY_BUILD=1", shared="""
/usr/bin/python3 -m venv env
env/bin/pip install --quiet --no-build-isolation --find-links "$SRC"/sources other
env/bin/python -c 'import other; print("hello venv" if other.word == "built once" else other.word)'
"""),
    PresetCase("rust", "rustc, cargo", "`cargo build` of a program with a library out of the host's cache", """
mkdir -p app/src greet/src
printf '[package]\\nname = "app"\\nversion = "1.0.0"\\nedition = "2021"\\n[dependencies]\\ngreet = { git = "file:///srv/greet.git" }\\n' > app/Cargo.toml
printf '[package]\\nname = "greet"\\nversion = "1.0.0"\\nedition = "2021"\\n' > greet/Cargo.toml
echo 'pub fn hello(who: &str) -> String { format!("hello {who}") }' > greet/src/lib.rs
echo 'fn main() { println!("{}", greet::hello("cargo")); }' > app/src/main.rs
git -C greet init --quiet --initial-branch=master
git -C greet add .
git -C greet -c user.name=Ana -c user.email=ana@example.org commit --quiet -m first
# Where it comes from is not in the cell.
mkdir -p "$HOME"/origin
git clone --quiet --bare greet "$HOME"/origin/greet.git
cp -r "$HOME"/origin/greet.git .
sed -i "s|/srv/|$HOME/origin/|" app/Cargo.toml
cd app
cargo fetch --quiet
""", """
cp -r "$SRC"/app .
cd app
cargo build --quiet
target/debug/app
""", "hello cargo", ["--timeout", "300s", "--memory", "1G", "--scratch", "512M"], fill="""
mkdir -p "$HOME"/origin
cp -r "$SRC"/greet.git "$HOME"/origin
export CARGO_NET_OFFLINE=false
"""),
    PresetCase("go", "golang-go", "`go build` with a module out of the host's cache", """
module=proxy/example.org/greet/@v
mkdir -p "$module" app "example.org/greet@v1.0.0"
printf 'module example.org/greet\\n\\ngo 1.19\\n' | tee "$module/v1.0.0.mod" > example.org/greet@v1.0.0/go.mod
printf 'package greet\\n\\nfunc Hello(who string) string { return "hello " + who }\\n' > example.org/greet@v1.0.0/greet.go
echo '{"Version": "v1.0.0"}' > "$module/v1.0.0.info"
echo v1.0.0 > "$module/list"
python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as made:
    for name in ("go.mod", "greet.go"):
        made.write("example.org/greet@v1.0.0/" + name)' "$module/v1.0.0.zip"
printf 'module app\\n\\ngo 1.19\\n\\nrequire example.org/greet v1.0.0\\n' > app/go.mod
printf 'package main\\n\\nimport (\\n\\t"fmt"\\n\\n\\t"example.org/greet"\\n)\\n\\nfunc main() { fmt.Println(greet.Hello("module")) }\\n' > app/main.go
cd app
GOPROXY=file://$PWD/../proxy GONOSUMDB='*' GOFLAGS=-mod=mod go mod tidy 2>/dev/null
""", """
cp -r "$SRC"/app .
cd app
go build -o hello .
./hello
""", "hello module", ["--timeout", "300s", "--memory", "1G", "--scratch", "512M"], fill="""
export GOPROXY="file://$SRC/proxy" GONOSUMDB='*'
"""),
    PresetCase("java", "default-jdk-headless, maven", "`javac`; Maven with a parent out of the host's repository", """
place=$HOME/.m2/repository/org/example/parent/1
mkdir -p "$place" app repository/org/example/parent
cat > "$place/parent-1.pom" <<'END'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version><packaging>pom</packaging>
</project>
END
cat > app/pom.xml <<'END'
<project>
  <modelVersion>4.0.0</modelVersion>
  <parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version></parent>
  <artifactId>app</artifactId><packaging>pom</packaging>
</project>
END
cp -r "$place" repository/org/example/parent
printf 'public class Main { public static void main(String[] words) { System.out.println("hello javac"); } }\\n' > app/Main.java
""", """
cp -r "$SRC"/app .
cd app
javac Main.java
java Main
mvn --offline --batch-mode validate | grep -o 'BUILD SUCCESS'
""", "hello javac\nBUILD SUCCESS", ["--timeout", "120s", "--memory", "1G"], fill="""
mkdir -p "${MAVEN_OPTS#-Dmaven.repo.local=}"
cp -r "$SRC"/repository/. "${MAVEN_OPTS#-Dmaven.repo.local=}"
"""),
    PresetCase("git", "git", "log and status of a repository of the host's; commit, diff and log in a copy", """
git init --quiet --initial-branch=main repository
cd repository
echo one > file
git add file
git -c user.name=Ana -c user.email=ana@example.org commit --quiet -m first
""", """
git -C "$SRC"/repository log --format=%s
git -C "$SRC"/repository status --short
cp -r "$SRC"/repository mine
cd mine
echo two >> file
git diff --stat | grep -o 'file | 1 +'
git commit --quiet -am second
git log --format='%s %ae'
""", "first\nfile | 1 +\nsecond brig@localhost\nfirst ana@example.org"),
]  # fmt: skip

"""Presets, each by a build of a small project in a cell.

`host` is run first, outside, in a HOME of its own ($HOME), and leaves there what its toolchain leaves; `script` is run
in a cell with the preset, which may read $HOME/src too; `output` is all that it prints.
"""

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
rm greet-1.0.0.tgz
""", """
cp -r "$SRC"/app .
cd app
npm ci --silent
node -p 'require("greet")("cache")'
""", "hello cache", ["--timeout", "120s"]),
    PresetCase("python", "python3-venv, python3-pip", "a virtual environment, and a wheel of the project's by pip", """
mkdir wheels
python3 - <<'END'
import zipfile
with zipfile.ZipFile("wheels/greet-1.0.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greet.py", "def hello(who):\\n    return f'hello {who}'\\n")
    wheel.writestr("greet-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0.0\\n")
    wheel.writestr("greet-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greet-1.0.0.dist-info/RECORD", "greet.py,,\\ngreet-1.0.0.dist-info/METADATA,,\\ngreet-1.0.0.dist-info/WHEEL,,\\ngreet-1.0.0.dist-info/RECORD,,\\n")
END
""", """
/usr/bin/python3 -m venv env
env/bin/pip install --quiet --find-links "$SRC"/wheels greet
env/bin/python -c 'import greet; print(greet.hello("venv"))'
""", "hello venv", ["--timeout", "120s", "--scratch", "256M"]),
    PresetCase("rust", "rustc, cargo", "`cargo build` of a program and a library of its own", """
mkdir -p app/src greet/src
printf '[package]\\nname = "app"\\nversion = "1.0.0"\\nedition = "2021"\\n[dependencies]\\ngreet = { path = "../greet" }\\n' > app/Cargo.toml
printf '[package]\\nname = "greet"\\nversion = "1.0.0"\\nedition = "2021"\\n' > greet/Cargo.toml
echo 'pub fn hello(who: &str) -> String { format!("hello {who}") }' > greet/src/lib.rs
echo 'fn main() { println!("{}", greet::hello("cargo")); }' > app/src/main.rs
""", """
cp -r "$SRC"/app "$SRC"/greet .
cd app
cargo build --quiet
target/debug/app
""", "hello cargo", ["--timeout", "300s", "--memory", "1G", "--scratch", "512M"]),
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
""", "hello module", ["--timeout", "300s", "--memory", "1G", "--scratch", "512M"]),
    PresetCase("java", "default-jdk-headless, maven", "`javac`; Maven with a parent out of the host's repository", """
place=$HOME/.m2/repository/org/example/parent/1
mkdir -p "$place" app
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
printf 'public class Main { public static void main(String[] words) { System.out.println("hello javac"); } }\\n' > app/Main.java
""", """
cp -r "$SRC"/app .
cd app
javac Main.java
java Main
mvn --offline --batch-mode validate | grep -o 'BUILD SUCCESS'
""", "hello javac\nBUILD SUCCESS", ["--timeout", "120s", "--memory", "1G"]),
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

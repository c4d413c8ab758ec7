"""Programs, each by a script that a shell runs in a cell of `brig run`; `output` is all that it
prints.

The scripts work in the cell's own workspace. `options` are for brig: few programs need more than
the defaults. """

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Program:
    name: str
    debian: str
    what: str  # in docs/compatibility.md
    script: str
    output: str
    options: list[str] = field(default_factory=list)


PROGRAMS = [
    Program("node", "nodejs", "a script with a promise, a file and a child process", """
cat > main.js <<'END'
const fs = require('fs'), { execFileSync } = require('child_process');
(async () => {
  await fs.promises.writeFile('a.txt', 'from a file');
  console.log(await fs.promises.readFile('a.txt', 'utf8'), execFileSync('echo', ['and a child']).toString().trim());
})();
END
node main.js
""", "from a file and a child"),
    Program("npm", "npm", "`npm install` of a directory, and of a package out of an offline cache", """
mkdir greet app
cat > greet/package.json <<'END'
{"name": "greet", "version": "1.0.0", "main": "index.js"}
END
echo 'module.exports = who => `hello ${who}`' > greet/index.js
npm pack --silent ./greet >/dev/null
npm cache add ./greet-1.0.0.tgz
cd app
npm init --yes >/dev/null
npm install --offline --no-audit --no-fund --silent ../greet-1.0.0.tgz
node -p 'require("greet")("cache")'
npm uninstall --silent greet
npm install --offline --no-audit --no-fund --silent file:../greet
node -p 'require("greet")("directory")'
""", "hello cache\nhello directory", ["--timeout", "120s"]),
    Program("java", "default-jdk-headless", "`javac`, `java` with threads, a `jar`", """
cat > Main.java <<'END'
import java.util.stream.*;
public class Main {
  public static void main(String[] words) {
    System.out.println(IntStream.rangeClosed(1, 1000).parallel().sum() + " " + String.join(" ", words));
  }
}
END
javac Main.java
jar cfe main.jar Main Main.class
java -jar main.jar in a jar
""", "500500 in a jar", ["--timeout", "120s"]),
    Program("maven", "maven", "validates a project", """
cat > pom.xml <<'END'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>thing</artifactId><version>1</version><packaging>pom</packaging>
</project>
END
mvn --offline --batch-mode validate | grep -o 'BUILD SUCCESS'
""", "BUILD SUCCESS", ["--timeout", "120s"]),
    Program("go", "golang-go", "`go build` of a module, and the program, with goroutines", """
cat > go.mod <<'END'
module hello
go 1.19
END
cat > main.go <<'END'
package main

import "fmt"

func main() {
	sums := make(chan int)
	for i := 0; i < 4; i++ {
		go func(n int) { sums <- n * n }(i)
	}
	total := 0
	for i := 0; i < 4; i++ {
		total += <-sums
	}
	fmt.Println("total", total)
}
END
go build -o hello .
./hello
""", "total 14", ["--timeout", "300s", "--memory", "1G", "--scratch", "512M"]),
    Program("rustc", "rustc", "compiles and runs a program with threads", """
cat > main.rs <<'END'
fn main() {
    let parts: Vec<_> = (0..4u32).map(|n| std::thread::spawn(move || n * n)).collect();
    println!("total {}", parts.into_iter().map(|part| part.join().unwrap()).sum::<u32>());
}
END
rustc -O main.rs
./main
""", "total 14", ["--timeout", "120s"]),
    Program("gcc", "g++", "compiles and runs C++ with exceptions", """
cat > main.cc <<'END'
#include <iostream>
#include <stdexcept>
int main() {
  try {
    throw std::runtime_error("caught");
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
  }
}
END
g++ -O1 -o main main.cc
./main
""", "caught", ["--timeout", "120s"]),
    Program("cmake", "cmake, make", "configures, builds by make, runs", """
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(hello C)
add_executable(hello hello.c)
END
printf '#include <stdio.h>\\nint main(void) { puts("built"); return 0; }\\n' > hello.c
cmake -S . -B build >/dev/null
cmake --build build >/dev/null
build/hello
""", "built", ["--timeout", "120s"]),
    Program("git", "git", "init, commit, branch, merge, log", """
git init --quiet --initial-branch=main .
git config user.name Ana && git config user.email ana@example.org
echo one > file && git add file && git commit --quiet -m first
git switch --quiet -c side && echo two >> file && git commit --quiet -am second
git switch --quiet main && git merge --quiet side
git log --format=%s
git status --short
""", "second\nfirst"),
    Program("pytest", "python3-pytest", "one test passes, one fails", """
cat > test_it.py <<'END'
def test_good(tmp_path):
    (tmp_path / "file").write_text("x")
def test_bad():
    assert 1 + 1 == 3
END
python3 -m pytest -q test_it.py | grep -oE '[0-9]+ failed, [0-9]+ passed'
""", "1 failed, 1 passed"),
    Program("ffmpeg", "ffmpeg", "makes a tone, encodes it as FLAC, reads it back", """
ffmpeg -v error -f lavfi -i sine=frequency=440:duration=1 tone.wav
ffmpeg -v error -i tone.wav tone.flac
ffprobe -v error -show_entries format=format_name,duration -of csv=p=0 tone.flac
""", "flac,1.000000", ["--timeout", "120s"]),
    Program("groff", "groff", "sets a manual page", """
printf '.TH T 1\\n.SH NAME\\nthing \\\\- does it\\n' | groff -man -Tascii -P-c -ww | grep -o 'thing - does it'
""", "thing - does it"),
    Program("perl", "perl", "Unicode and a module", """
perl -CS -Mfeature=unicode_strings -MList::Util=sum -e 'print uc("\\x{e9}"), sum(1..4), "\\n"'
""", "É10"),
]  # fmt: skip

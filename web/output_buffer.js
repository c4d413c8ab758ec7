// The last of what a call printed: bounded, however much it prints and in however small pieces.
const MOST_CHARACTERS = 64 * 1024;
const MOST_PIECES = 256;
const PIECE = 4096;

export class OutputBuffer {
  constructor() {
    this.pieces = []; // {serial, stream, text}; only the last one grows, only the first are dropped
    this.length = 0;
    this.dropped = 0; // characters
    this.serial = 0;
  }

  add(stream, text) {
    if (text.length > MOST_CHARACTERS) {
      this.dropped += text.length - MOST_CHARACTERS;
      text = text.slice(-MOST_CHARACTERS);
    }
    const last = this.pieces.at(-1);
    if (last && last.stream === stream && last.text.length + text.length <= PIECE) last.text += text;
    else this.pieces.push({ serial: this.serial++, stream, text });
    this.length += text.length;
    let drop = 0;
    while (this.length > MOST_CHARACTERS || this.pieces.length - drop > MOST_PIECES) {
      this.length -= this.pieces[drop].text.length;
      this.dropped += this.pieces[drop].text.length;
      ++drop;
    }
    if (drop > 0) this.pieces.splice(0, drop);
  }

  // The end of the last line that says something.
  lastWords(most = 160) {
    let tail = '';
    for (let i = this.pieces.length - 1; i >= 0 && tail.trim() === ''; --i) {
      tail = this.pieces[i].text.slice(-2 * most) + tail;
    }
    const line = tail.trimEnd();
    return line.slice(line.lastIndexOf('\n') + 1).slice(0, most);
  }

  textOf(stream) {
    return this.pieces
      .filter((piece) => piece.stream === stream)
      .map((piece) => piece.text)
      .join('');
  }
}

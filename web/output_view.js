// What a call has printed, as it comes. Follows the end unless the reader has scrolled up.
import { el, setHidden } from './dom.js';
import { bytes, visible } from './text.js';

export class OutputView {
  constructor() {
    this.pieces = []; // {serial, length, node}
    this.pre = el('pre', {
      class: 'output',
      tabindex: '0',
      role: 'log',
      'aria-live': 'off',
      'aria-label': 'Output',
    });
    this.sizes = el('span', { class: 'sizes' });
    this.element = el(
      'section',
      { class: 'output-section' },
      el('header', {}, el('h3', {}, 'Output'), this.sizes),
      this.pre,
    );
  }

  update(call) {
    const { output } = call;
    this.#updateSizes(call);
    setHidden(this.element, output.pieces.length === 0);
    const first = output.pieces[0]?.serial ?? Infinity;
    const follow = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 24;
    let gone = 0;
    while (gone < this.pieces.length && this.pieces[gone].serial < first) this.pieces[gone++].node.remove();
    this.pieces.splice(0, gone);
    const known = this.pieces.at(-1)?.serial ?? -1;
    for (const piece of output.pieces.slice(Math.max(0, this.pieces.length - 1))) {
      if (piece.serial < known) continue;
      if (piece.serial === known) this.#grow(this.pieces.at(-1), piece);
      else this.#append(piece);
    }
    if (follow) this.pre.scrollTop = this.pre.scrollHeight;
  }

  // The sizes, which are also the legend of the colours.
  #updateSizes(call) {
    const size = (number) => (number === null ? '' : ` ${bytes(number)}`);
    const both = call.stderrBytes > 0 || call.output.pieces.some((piece) => piece.stream === 'stderr');
    const parts = [
      call.output.dropped > 0 && ['note', 'only the end is shown'],
      [both ? 'stdout' : 'note', `stdout${size(call.stdoutBytes)}`],
      both && ['stderr', `stderr${size(call.stderrBytes)}`],
    ].filter(Boolean);
    const text = parts.join();
    if (this.sizesText === text) return;
    this.sizesText = text;
    this.sizes.replaceChildren(...parts.map(([kind, part]) => el('span', { class: kind }, part)));
  }

  #grow(mine, piece) {
    if (mine.length === piece.text.length) return;
    mine.length = piece.text.length;
    mine.node.textContent = visible(piece.text);
  }

  #append(piece) {
    const node = el('span', { class: piece.stream }, visible(piece.text));
    this.pieces.push({ serial: piece.serial, length: piece.text.length, node });
    this.pre.append(node);
  }
}

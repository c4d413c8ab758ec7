// The tools, by name; and the pane of the one that was chosen.
import { getJson } from './api.js';
import { byId, el, setHidden, setText } from './dom.js';
import { ToolPane } from './tool_pane.js';
import { count, oneLine, plural } from './text.js';

const MOST_LISTED = 500;
const MOST_PANES = 20; // what was typed stays, for that many tools

export class ToolsPage {
  constructor() {
    this.tools = null;
    this.panes = new Map(); // name → ToolPane, the one used last at the end
    this.chosen = null;
    this.filter = byId('tool-filter');
    this.filter.addEventListener('input', () => this.#list());
    byId('tool-list').addEventListener('keydown', (event) => this.#move(event));
  }

  // Reads the list again; soon, and once for many changes.
  refresh() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 300);
  }

  async load() {
    try {
      const { tools } = await getJson('/v1/tools');
      this.tools = Array.isArray(tools) ? tools.filter((tool) => typeof tool?.name === 'string') : [];
    } catch (error) {
      if (this.tools === null) this.#tell(`Could not read the tools: ${error.message}`);
      return;
    }
    this.#list();
    this.#show();
  }

  choose(name) {
    this.chosen = name;
    byId('view-tools').classList.toggle('has-choice', name !== null);
    this.#mark();
    this.#show();
  }

  focusChosen() {
    byId('tool-pane').querySelector('h2')?.focus();
  }

  #tell(text) {
    const empty = byId('tools-empty');
    setText(empty, text);
    setHidden(empty, text === '');
  }

  #list() {
    if (this.tools === null) return;
    const text = this.filter.value.toLowerCase();
    const found = this.tools.filter((tool) =>
      `${tool.name}\n${tool.description ?? ''}`.toLowerCase().includes(text),
    );
    byId('tool-list').replaceChildren(
      ...found
        .slice(0, MOST_LISTED)
        .map((tool) =>
          el(
            'li',
            {},
            el(
              'a',
              { href: `#tools/${encodeURIComponent(tool.name)}`, 'data-name': tool.name },
              el('span', { class: 'tool-name' }, oneLine(tool.name, 80)),
              el('span', { class: 'tool-about' }, oneLine(tool.description ?? '', 140)),
            ),
          ),
        ),
    );
    if (this.tools.length === 0)
      this.#tell('The server has no tools. Give it a manifest: brig serve --manifest brig.toml');
    else if (found.length === 0) this.#tell('No tool matches the filter.');
    else
      this.#tell(
        found.length > MOST_LISTED ? `and ${count(found.length - MOST_LISTED)} more; filter the list to see them` : '',
      );
    this.#mark();
  }

  #mark() {
    for (const link of byId('tool-list').querySelectorAll('a')) {
      if (link.dataset.name === this.chosen) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }

  #show() {
    const place = byId('tool-pane');
    if (this.tools === null) return;
    const tool = this.tools.find((one) => one.name === this.chosen);
    if (!tool) {
      place.replaceChildren(
        el(
          'p',
          { class: 'empty' },
          this.chosen === null
            ? `${plural(this.tools.length, 'tool')}. Choose one to see its arguments and to call it.`
            : `There is no tool called “${oneLine(this.chosen, 80)}”.`,
        ),
      );
      return;
    }
    const pane = this.#paneOf(tool);
    if (place.firstElementChild !== pane.element) place.replaceChildren(pane.element);
  }

  #paneOf(tool) {
    let pane = this.panes.get(tool.name);
    if (!pane || pane.schemaText !== JSON.stringify(tool.input_schema ?? {})) {
      pane?.close();
      pane = new ToolPane(tool);
    }
    this.panes.delete(tool.name);
    this.panes.set(tool.name, pane);
    if (this.panes.size > MOST_PANES) {
      const [oldest, unused] = this.panes.entries().next().value;
      unused.close();
      this.panes.delete(oldest);
    }
    return pane;
  }

  #move(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    const links = [...byId('tool-list').querySelectorAll('a')];
    const next = links[links.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}

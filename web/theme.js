// Light, dark, or as the system has it. Runs before the first paint, so that no page flashes.
const KEY = 'brig.theme';
const NEXT = { auto: 'light', light: 'dark', dark: 'auto' };
const LABEL = { auto: 'Auto', light: 'Light', dark: 'Dark' };

function stored() {
  try {
    return localStorage.getItem(KEY) in LABEL ? localStorage.getItem(KEY) : 'auto';
  } catch {
    return 'auto'; // storage may be forbidden
  }
}

document.documentElement.dataset.theme = stored();

// Calls `changed` whenever the colours do.
export function setUpTheme(button, changed) {
  const show = () => {
    const theme = document.documentElement.dataset.theme;
    button.querySelector('span').textContent = LABEL[theme];
    button.setAttribute('aria-label', `Colours: ${LABEL[theme].toLowerCase()}`);
  };
  button.addEventListener('click', () => {
    const theme = NEXT[document.documentElement.dataset.theme];
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // then it lasts as long as the page
    }
    show();
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  show();
}

// Asks for the token when the server requires one.
import { hasToken, onUnauthorized, setToken } from './api.js';
import { byId, setHidden, setText } from './dom.js';

// `onToken`: there is a new one to try.
export function setUpToken(onToken) {
  const dialog = byId('token-dialog'),
    input = byId('token'),
    fault = byId('token-fault'),
    button = byId('token-button');
  let dismissed = false;

  const label = (text, title) => {
    setText(button, text);
    button.title = title;
    button.setAttribute('aria-label', `${text}: ${title.toLowerCase()}`);
  };
  const open = () => {
    if (!dialog.open) dialog.showModal();
    input.focus();
  };
  onUnauthorized((refused) => {
    if (refused) setToken('');
    setText(fault, refused ? 'The server did not accept this token.' : '');
    label('Unlock', 'Enter the token');
    setHidden(button, false);
    if (!dismissed || refused) open();
  });
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = input.value.trim();
    if (!/^[\x21-\x7e]+$/.test(token)) {
      setText(
        fault,
        token === '' ? 'Enter a token.' : 'A token must be printable ASCII characters without spaces.',
      );
      return;
    }
    setToken(token);
    input.value = '';
    setText(fault, '');
    dismissed = false;
    dialog.close();
    showForget();
    onToken();
  });
  const showForget = () => {
    setHidden(button, !hasToken());
    label('Lock', 'Forget the token');
  };
  byId('token-later').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    if (!hasToken()) dismissed = true;
  });
  button.addEventListener('click', () => {
    if (!hasToken()) return open();
    setToken('');
    location.reload();
  });
  showForget();
}

// How the tests start Debian's Chromium: without what it would load from elsewhere.
export const LAUNCH = {
  executablePath: process.env.BRIG_CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

import { RemixBrowser } from '@remix-run/react';
import { startTransition, StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { cspNonce } from './ui/nonce.ts';

// Dialogs and menus use react-remove-scroll, which reads this nonce for the style element that it adds.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = cspNonce();

// Remix reports an unhandled rejection when a navigation interrupts a load. Such an interruption is not an error.
addEventListener('unhandledrejection', (event) => {
  if (event.reason instanceof DOMException && event.reason.name === 'AbortError') event.preventDefault();
});

startTransition(() => {
  hydrateRoot(
    document,
    <StrictMode>
      <RemixBrowser />
    </StrictMode>,
  );
});

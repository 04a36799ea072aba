import { RemixBrowser } from '@remix-run/react';
import { startTransition, StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { cspNonce } from './ui/nonce.ts';

// Read by react-remove-scroll, which dialogs and menus use, for the style that it adds.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = cspNonce();

// Remix's decoder reports each load that the next one interrupts. Leaving a page early is not an error.
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

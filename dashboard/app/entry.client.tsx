import { RemixBrowser } from '@remix-run/react';
import { startTransition, StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { cspNonce } from './lib/csp-nonce.ts';

// Read by react-remove-scroll, which dialogs and menus use, for the style that it adds.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = cspNonce();

startTransition(() => {
  hydrateRoot(
    document,
    <StrictMode>
      <RemixBrowser />
    </StrictMode>,
  );
});

import { createContext, useContext } from 'react';

const NonceContext = createContext<string | undefined>(undefined);

export const NonceProvider = NonceContext.Provider;
/** Returns the nonce of this response on the server. Returns undefined in the browser. */
export const useNonce = (): string | undefined => useContext(NonceContext);

/** Returns the page's nonce, for styles that libraries add later. Browsers hide the attribute but not the property. */
export const cspNonce = (): string => document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';

import { createContext, useContext } from 'react';

const NonceContext = createContext<string | undefined>(undefined);

export const NonceProvider = NonceContext.Provider;
/** On the server, returns the nonce of the response. In the browser, returns undefined. */
export const useNonce = (): string | undefined => useContext(NonceContext);

/** Returns the page's nonce, for styles that libraries add later. Browsers hide the attribute but not the property. */
export const cspNonce = (): string => document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';

import { createContext, useContext } from 'react';

const NonceContext = createContext<string | undefined>(undefined);

export const NonceProvider = NonceContext.Provider;
/** On the server: the nonce of this response. The browser no longer needs it. */
export const useNonce = (): string | undefined => useContext(NonceContext);

/** The nonce of the page, for styles that libraries add later. Browsers hide it from the attribute but not from the property. */
export const cspNonce = (): string => document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';

import { createContext, useContext } from 'react';

const NonceContext = createContext<string | undefined>(undefined);

export const NonceProvider = NonceContext.Provider;
/** On the server: the nonce of this response. The browser no longer needs it. */
export const useNonce = (): string | undefined => useContext(NonceContext);

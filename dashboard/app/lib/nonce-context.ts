import { createContext, useContext } from 'react';

const NonceContext = createContext<string | undefined>(undefined);

export const NonceProvider = NonceContext.Provider;
/** On the server: the nonce of this answer. In the browser nobody needs it any more. */
export const useNonce = (): string | undefined => useContext(NonceContext);

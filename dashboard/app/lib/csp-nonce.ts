/** The nonce of the page, for styles that libraries add later. Browsers hide it from the attribute but not from the property. */
export const cspNonce = (): string => document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';

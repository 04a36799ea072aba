/**
 * Returns the security headers for pages and assets. The JSON API has its own, and shared links override some of these. Scripts and
 * styles must be the dashboard's own files or carry the response's nonce. Style attributes need no exception, because React sets
 * them through the DOM and no page contains one in its HTML.
 */
export const securityHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'content-security-policy': [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // With no-referrer, browsers would send `Origin: null` from the dashboard's own forms.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
});

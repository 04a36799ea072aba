/**
 * Returns the URL of an endpoint with the example value `1` for each path parameter: `…/orders/{id}` becomes `…/orders/1`. curl
 * reads braces as a list of alternatives, and would send `id`, which is rarely a value that an endpoint can use.
 */
export const exampleUrl = (url: string): string => url.replace(/\{\w+(?:\.\.\.)?\}/g, '1');

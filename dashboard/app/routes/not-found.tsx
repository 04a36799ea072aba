/** Any other URL: the error page, with the header around it. Remix responds with a page only if there is a component. */
export const loader = () => {
  throw new Response(null, { status: 404 });
};

const NotFound = () => null;
export default NotFound;

/** Any other URL: the error page, with the header around it. It takes a component for Remix to answer with a page at all. */
export const loader = () => {
  throw new Response(null, { status: 404 });
};

const NotFound = () => null;
export default NotFound;

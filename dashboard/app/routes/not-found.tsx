/** Handles any other URL with the error page inside the layout. Remix renders a page only if the route has a component. */
export const loader = () => {
  throw new Response(null, { status: 404 });
};

const NotFound = () => null;
export default NotFound;

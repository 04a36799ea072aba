/**
 * Shows the error page inside the layout for every URL that has no other route. Remix renders a page only if the route has a
 * component.
 */
export const loader = () => {
  throw new Response(null, { status: 404 });
};

const NotFound = () => null;
export default NotFound;

/** Any other URL: the error page, with the header around it. */
export const loader = () => {
  throw new Response(null, { status: 404 });
};

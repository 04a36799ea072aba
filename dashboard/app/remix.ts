/**
 * Everything that components take from Remix. Besides this file, only routes, root and entries import Remix, so that the move to React Router is a
 * change of these imports (ADR 004).
 */
export {
  Form,
  isRouteErrorResponse,
  Link,
  NavLink,
  useActionData,
  useFetcher,
  useLocation,
  useNavigate,
  useNavigation,
  useRevalidator,
  useRouteError,
  useRouteLoaderData,
  useSearchParams,
  useSubmit,
  type ShouldRevalidateFunction,
} from '@remix-run/react';

/**
 * The parts of Remix that components use. Only this file, the routes, the root and the entries import Remix, so that moving to
 * React Router only changes these imports (ADR 004).
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

/**
 * The parts of Remix that components use. In this folder, only this file, the routes, the root and the entries import Remix, so
 * that a move to React Router leaves the components unchanged (ADR 004).
 */
export {
  Form,
  isRouteErrorResponse,
  Link,
  NavLink,
  useActionData,
  useBeforeUnload,
  useBlocker,
  useFetcher,
  useLoaderData,
  useLocation,
  useNavigate,
  useNavigation,
  useRevalidator,
  useRouteError,
  useRouteLoaderData,
  useSearchParams,
  useSubmit,
  type ClientActionFunctionArgs,
  type ClientLoaderFunctionArgs,
  type ShouldRevalidateFunction,
} from '@remix-run/react';

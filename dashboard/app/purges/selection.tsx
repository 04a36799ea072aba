import { Time, type TimeProps } from '../ui/time.tsx';

interface SelectionProps {
  /** Empty and missing fields do not restrict the requests. */
  readonly filter: {
    readonly search?: string | undefined;
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  };
  readonly zone: TimeProps['zone'];
}

/** Describes the requests of a purge: `path:/v1/* from … until …`. */
export const Selection = ({ filter, zone }: SelectionProps) => {
  const { search = '', from = '', to = '' } = filter;
  return (
    <>
      {search === '' ? (
        from === '' ? (
          'All requests'
        ) : (
          'Requests'
        )
      ) : (
        <code className="break-all">
          <bdi>{search}</bdi>
        </code>
      )}
      {from !== '' && (
        <>
          {' '}
          from <Time at={from} zone={zone} />
        </>
      )}
      {to !== '' && (
        <>
          {' '}
          until <Time at={to} zone={zone} />
        </>
      )}
    </>
  );
};

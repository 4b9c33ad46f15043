"""placeholder"""


class PostgresSearch:
    def __init__(self, *a):
        pass

    def candidates(self, c, a, q):
        raise NotImplementedError

    def forget(self, a):
        pass

    def close(self):
        pass

# The command line, with readers for every kind of store:
#   docker build -t veclink . && docker run --rm -v "$PWD:/data" veclink link a.npy b.npy -o links.csv
FROM python:3.12-slim AS built
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.12-slim
COPY --from=built /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[stores,review]" && rm -r /wheels \
 && useradd --create-home veclink
USER veclink
WORKDIR /data
ENTRYPOINT ["veclink"]
CMD ["--help"]

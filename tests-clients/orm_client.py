"""ORMs, migration tools and drivers of Python, as their users run them: SQLAlchemy with three drivers, Alembic, Django, pandas, psycopg2,
asyncpg, pg8000. The server is that of PGHOST and PGPORT. Prints nothing unless something is wrong."""
import asyncio, io, logging, os, subprocess, sys, tempfile, textwrap

HOST, PORT = os.environ["PGHOST"], os.environ["PGPORT"]
USER, DATABASE = os.environ["PGUSER"], os.environ["PGDATABASE"]


def url(driver):
    return f"postgresql+{driver}://{USER}@{HOST}:{PORT}/{DATABASE}"


def sqlalchemy(driver):
    import sqlalchemy as sa
    from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

    class Base(DeclarativeBase):
        pass

    class Parent(Base):
        __tablename__ = "sa_parent"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]
        quantity: Mapped[int] = mapped_column(default=0)
        children: Mapped[list["Child"]] = relationship(back_populates="parent", cascade="all, delete-orphan")

    class Child(Base):
        __tablename__ = "sa_child"
        id: Mapped[int] = mapped_column(primary_key=True)
        parent_id: Mapped[int] = mapped_column(sa.ForeignKey("sa_parent.id", ondelete="CASCADE"))
        parent: Mapped[Parent] = relationship(back_populates="children")

    engine = sa.create_engine(url(driver))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Parent(name="a", children=[Child(), Child()]))
        session.add_all([Parent(name=str(number)) for number in range(20)])
        session.commit()
        parent = session.execute(sa.select(Parent).where(Parent.id == 1).with_for_update()).scalar_one()
        parent.quantity += 1
        session.commit()
        queue = sa.select(Parent.id).order_by(Parent.id).limit(3).with_for_update(skip_locked=True, of=Parent)
        assert session.scalars(queue).all() == [1, 2, 3]
        for lock in [True, {"nowait": True, "key_share": True}, {"read": True}]:
            session.refresh(parent, with_for_update=lock)
        session.rollback()
        session.delete(parent)
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Child)) == 0
        with session.begin_nested():
            session.add(Parent(name="nested"))
        session.commit()
    inspector = sa.inspect(engine)
    assert inspector.get_pk_constraint("sa_parent")["constrained_columns"] == ["id"]
    [key] = inspector.get_foreign_keys("sa_child")
    assert (key["referred_table"], key["options"]) == ("sa_parent", {"ondelete": "CASCADE"})
    metadata = sa.MetaData()
    metadata.reflect(engine)
    assert {"sa_parent", "sa_child"} <= set(metadata.tables)
    Base.metadata.drop_all(engine)
    engine.dispose()


def pandas():
    import pandas as pd
    import sqlalchemy as sa

    engine = sa.create_engine(url("psycopg2"))
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": pd.to_datetime(["2024-01-01", None])})
    frame.to_sql("frame", engine, if_exists="replace", index=False)
    frame.to_sql("frame", engine, if_exists="append", index=False, method="multi")
    assert pd.read_sql("select * from frame where a = 2", engine).shape == (2, 3)
    assert pd.read_sql_table("frame", engine)["c"].notna().sum() == 2
    engine.dispose()


def django():
    import django as package
    from django.conf import settings

    database = {"ENGINE": "django.db.backends.postgresql", "NAME": DATABASE, "USER": USER, "HOST": HOST, "PORT": PORT}
    apps = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"]
    settings.configure(DATABASES={"default": database}, INSTALLED_APPS=apps, USE_TZ=True)
    package.setup()
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.db import IntegrityError, connection, transaction
    from django.db.models import Count

    call_command("migrate", verbosity=0)
    user, group = User.objects.create_user("bob"), Group.objects.create(name="g")
    user.groups.add(group)
    with transaction.atomic():
        locked = User.objects.select_for_update().get(pk=user.pk)
        locked.first_name = "B"
        locked.save()
        assert list(User.objects.select_for_update(skip_locked=True).order_by("id")[:2]) == [user]
        assert list(User.objects.select_for_update(nowait=True, of=("self",)).filter(groups__name="g")) == [user]
        assert len(User.objects.select_for_update(no_key=True)) == 1
    with transaction.atomic():
        try:
            with transaction.atomic():
                User.objects.create_user("bob")
            raise AssertionError("a name is unique")
        except IntegrityError:
            pass
        assert list(User.objects.filter(username__icontains="BO").values_list("first_name", flat=True)) == ["B"]
    assert list(Group.objects.annotate(n=Count("user")).values_list("name", "n")) == [("g", 1)]
    User.objects.update_or_create(username="bob", defaults={"last_name": "z"})
    User.objects.bulk_create([User(username=f"u{number}") for number in range(3)], ignore_conflicts=True)
    assert User.objects.count() == 4
    models = io.StringIO()
    call_command("inspectdb", "auth_user", stdout=models)
    assert "username = models.CharField(unique=True, max_length=150)" in models.getvalue()
    call_command("flush", interactive=False, verbosity=0)
    assert User.objects.count() == 0
    for app in ["auth", "contenttypes", "sessions"]:
        call_command("migrate", app, "zero", verbosity=0)
    connection.cursor().execute("drop table django_migrations")
    connection.close()


def alembic():
    def run(*arguments):
        command = [sys.executable, "-m", "alembic.config", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"alembic {arguments}: {done.stdout}{done.stderr}"

    def edit(name, old, new):
        path = os.path.join(folder, name)
        text = open(path).read()
        assert old in text, name
        open(path, "w").write(text.replace(old, new))

    folder = tempfile.mkdtemp()
    run("init", "m")
    edit("alembic.ini", "driver://user:pass@localhost/dbname", url("psycopg"))
    edit("m/env.py", "target_metadata = None", "import model\ntarget_metadata = model.metadata")
    model = os.path.join(folder, "model.py")
    open(model, "w").write(textwrap.dedent("""
        import sqlalchemy as sa
        metadata = sa.MetaData()
        sa.Table("al", metadata, sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("n", sa.String(20), nullable=False, unique=True),
            sa.Column("w", sa.DateTime(timezone=True), server_default=sa.func.now()))
        sa.Table("al2", metadata, sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
            sa.Column("a", sa.ForeignKey("al.id")), sa.Column("f", sa.Numeric(10, 2)), sa.Index("al2_a", "a"))
        """))
    run("revision", "--autogenerate", "-m", "first")
    run("upgrade", "head")
    run("check")
    open(model, "a").write("metadata.tables['al'].append_column(sa.Column('extra', sa.Text()))\n")
    run("revision", "--autogenerate", "-m", "second")
    run("upgrade", "head")
    run("check")
    run("downgrade", "base")


def psycopg2():
    import psycopg2 as package
    import psycopg2.extras as extras

    connection = package.connect("")
    with connection.cursor() as cursor:
        cursor.execute("create table p2(id serial primary key, b text, j jsonb, t timestamptz default now())")
        cursor.executemany("insert into p2(b) values (%s)", [("x",), ("y",)])
        rows = extras.execute_values(
            cursor, "insert into p2(b, j) values %s returning id", [("z", extras.Json({"a": 1}))], fetch=True)
        assert rows == [(3,)]
        cursor.execute("select b from p2 where id = any(%s) order by id for update", ([1, 2],))
        assert cursor.fetchall() == [("x",), ("y",)]
    connection.commit()
    with connection.cursor("named") as cursor:
        cursor.execute("select id from p2 order by 1")
        assert cursor.fetchmany(2) == [(1,), (2,)]
    with connection.cursor() as cursor:
        cursor.copy_from(io.StringIO("q\nr\n"), "p2", columns=("b",))
        out = io.StringIO()
        cursor.copy_expert("copy (select id, b from p2 where id > 3 order by id) to stdout", out)
        assert out.getvalue() == "4\tq\n5\tr\n"
    connection.rollback()
    connection.set_session(isolation_level="SERIALIZABLE", readonly=True, deferrable=True)
    with connection.cursor(cursor_factory=extras.RealDictCursor) as cursor:
        cursor.execute("select count(*) from p2")
        assert cursor.fetchone() == {"count": 3}
    connection.close()


def asyncpg():
    import asyncpg as package

    async def run():
        pool = await package.create_pool(min_size=1, max_size=3)
        async with pool.acquire() as connection:
            await connection.execute("create table ap(id int primary key, v text, tags text[])")
            await connection.executemany("insert into ap values($1, $2, $3)", [(1, "a", ["x"]), (2, "b", [])])
            rows = await connection.fetch("select * from ap where id = any($1::int[]) order by id", [1, 2])
            assert [tuple(row) for row in rows] == [(1, "a", ["x"]), (2, "b", [])]
            async with connection.transaction(isolation="serializable"):
                assert (await connection.fetchrow("select v from ap where id = $1 for update", 1))["v"] == "a"
                assert [row["id"] async for row in connection.cursor("select id from ap order by id")] == [1, 2]
            prepared = await connection.prepare("select id from ap where v = $1")
            assert await prepared.fetchval("b") == 2
            rows = [(3, "c", ["q"]), (4, None, None)]
            assert await connection.copy_records_to_table("ap", records=rows) == "COPY 2"
            out = io.BytesIO()
            await connection.copy_from_query("select id, v from ap where id > $1", 2, output=out, format="binary")
            assert out.getvalue().startswith(b"PGCOPY\n\xff\r\n\0") and out.getvalue().endswith(b"\xff\xff")
        # What a pool does with a connection that it gets back.
        async with pool.acquire() as connection:
            assert await connection.fetchval("select count(*) from ap") == 4
        await pool.close()

    asyncio.run(run())


def pg8000():
    import pg8000.native as package

    connection = package.Connection(USER, host=HOST, port=int(PORT), database=DATABASE)
    assert connection.run("select v, tags from ap where id = :id", id=1) == [["a", ["x"]]]
    connection.close()


logging.disable(logging.WARNING)
for driver in ["psycopg", "psycopg2", "pg8000"]:
    sqlalchemy(driver)
alembic()
psycopg2()
asyncpg()
pg8000()
pandas()
django()
